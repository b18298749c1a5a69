import numpy as np
import numpy.typing as npt

def read_events(
    data: bytes,
    keys: npt.NDArray[np.void],
    multiplier: int,
    events: npt.NDArray[np.int64],
    found: npt.NDArray[np.void],
    members: npt.NDArray[np.void],
    bounds: npt.NDArray[np.int64],
) -> tuple[int, int, bool] | None:
    """Fill `events` (start and end of each) and `members` (by code) from the head of `data`; `found` is scratch.

    `bounds[code]` becomes the number of members of lower codes. Gives how many events and members there are, and
    whether nothing but the end of the text or of the room stopped it; None if the text is not plain.
    """
