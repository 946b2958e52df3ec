//! Crashes while a start is at work: whatever it did, the next one comes to the same.
