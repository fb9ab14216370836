/* Allocate and complete jobs through libslurm, launching nothing: what Slurm's controller decides a second.
 *
 * slurm_load JOBS CARDS CLIENTS: each client allocates one job of CARDS cards after the other; a job is completed once
 * it has its allocation. Prints the jobs a second. */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static double now_s(void)
{
    struct timeval at;
    gettimeofday(&at, NULL);
    return at.tv_sec + at.tv_usec / 1e6;
}

static int client(int jobs, const char *cards, int keep)
{
    char tres[64];
    snprintf(tres, sizeof tres, "gres:card:%s", cards);
    for (int number = 0; number < jobs; number++) {
        job_desc_msg_t job;
        slurm_init_job_desc_msg(&job);
        job.name = "bench";
        job.min_nodes = job.max_nodes = 1;
        job.num_tasks = 1;
        job.min_cpus = 1;
        job.pn_min_memory = 1;
        job.tres_per_node = tres;
        job.user_id = getuid();
        job.group_id = getgid();
        job.work_dir = "/tmp";
        resource_allocation_response_msg_t *got = slurm_allocate_resources_blocking(&job, 120, NULL);
        if (!got) {
            slurm_perror("allocate");
            return 1;
        }
        if (!keep && slurm_complete_job(got->job_id, 0)) {
            slurm_perror("complete");
            return 1;
        }
        slurm_free_resource_allocation_response_msg(got);
    }
    return 0;
}

int main(int count, char **given)
{
    if (count != 5)
        return 2;
    slurm_init(NULL);
    int jobs = atoi(given[1]), clients = atoi(given[3]), keep = atoi(given[4]), failed = 0;
    double began = now_s();
    for (int number = 0; number < clients; number++)
        if (!fork())
            exit(client(jobs / clients, given[2], keep));
    for (int number = 0, status; number < clients; number++) {
        wait(&status);
        failed |= status;
    }
    printf("%.1f\n", jobs / clients * clients / (now_s() - began));
    return failed ? 1 : 0;
}
