// A library with MuJoCo's name and another version, to test the error for it.
extern "C" int mj_version() { return 3170000; }
extern "C" const char* mj_versionString() { return "3.17.0"; }
