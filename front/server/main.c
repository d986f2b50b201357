/*
 * main.c - caret-server: serve.c.  By itself, so that a test may have the server in it.
 */
#include "server/worker.h"

int main(int argc, char **argv)
{
    return serve__main(argc, argv);
}
