import numpy as np
import numpy.typing as npt

def read_events(
    data: bytes,
    keys: npt.NDArray[np.void],
    multiplier: int,
    events: npt.NDArray[np.int64],
    members: npt.NDArray[np.void],
) -> tuple[int, int, bool] | None:
    """Fill `events` (start and end of each) and `members` from the head of `data`.

    Gives how many of each, and whether nothing but the end of the text or the room stopped it; None if not plain.
    """
