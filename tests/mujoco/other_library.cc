// A library of MuJoCo's name and of another version, for what is said to who has one.
extern "C" int mj_version() { return 3170000; }
extern "C" const char* mj_versionString() { return "3.17.0"; }
