"""What torch.compile makes of the step: which kernels it fuses or generates, and how long they run.

May import the device and what it may."""
