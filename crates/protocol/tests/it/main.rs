//! What both versions of A2A say, from one to the other and back.

mod a2a;
