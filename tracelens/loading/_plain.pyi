import numpy as np
import numpy.typing as npt

contract: int
"""Of how `read_events` is called and what it writes: counted up whenever that changes."""

def read_events(
    data: bytes,
    keys: npt.NDArray[np.void],
    multiplier: int,
    events: npt.NDArray[np.int64],
    found: npt.NDArray[np.void],
    members: npt.NDArray[np.void],
    bounds: npt.NDArray[np.int64],
) -> tuple[int, int, bool, bool] | None:
    """Fill `events` (start and end of each) and `members` (by code) from the head of `data`; `found` is scratch.

    `bounds[code]` becomes the number of members of lower codes. Gives how many events and members there are, whether
    nothing but the end of the text or of the room stopped it, and whether an event may have two members of one code;
    None if the text is not plain.
    """
