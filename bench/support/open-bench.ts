import { UPSTREAM } from '../edge/upstream-file.ts';
import { say } from './flags.ts';
import { hasH2load } from './h2load.ts';
import { type Program, startProgram } from './start-program.ts';

export interface OpenBench extends AsyncDisposable {
  readonly upstream: Program;
  /** Holds everything else that the bench starts, and is disposed before the upstream. */
  readonly stack: AsyncDisposableStack;
}

/** Setup of a bench with h2load. Null, after a message, when h2load is missing: then nothing can be measured. */
export async function openBench(): Promise<OpenBench | null> {
  if (!(await hasH2load())) {
    say('h2load is not installed (Debian: nghttp2-client): nothing was measured');
    return null;
  }
  const upstream = await startProgram([UPSTREAM], {});
  const stack = new AsyncDisposableStack();
  stack.defer(() => upstream.stop());
  return { upstream, stack, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
