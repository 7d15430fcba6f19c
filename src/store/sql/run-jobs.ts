import { applyWriteSet } from './apply-write-set.ts';
import { type Job, type ProgramArgs, startProgram } from './programs.ts';
import type { Program } from './statement.ts';
import { WriteGroup } from './write-group.ts';

/** The jobs of one transaction, in their order; answers each. Write-sets put together what they write alike. */
export function* runJobs(jobs: readonly Job[]): Program<unknown[]> {
  const group = new WriteGroup();
  const answers: unknown[] = [];
  for (const job of jobs) {
    if (job.name === 'applyWriteSet') {
      const [writeSet] = job.args as ProgramArgs<'applyWriteSet'>;
      answers.push(yield* applyWriteSet(writeSet, group));
    } else {
      yield* group.flush();
      answers.push(yield* startProgram(job));
    }
  }
  yield* group.flush();
  return answers;
}
