"""What people got wrong when they read a trace: public reports, each rebuilt as a small trace with its right answer."""
