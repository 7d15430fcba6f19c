import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { collectPassedBuffers } from './passing-buffers.ts';

/** For programs that run for long, live on objects that do not, and carry bytes. What each is worth: bench/tunnel/README.md. */
export function tuneRuntime(): void {
  // V8 watches at which places of the code objects are made that survive, and puts later ones of these straight into the old space.
  // While a program is young, objects of requests look like that. Once there, each keeps all that it leads to (request, answer,
  // headers, streams) until the next full garbage collection, which looks like survival again: a third of all that is allocated.
  setFlagsFromString('--no-allocation-site-pretenuring');
  const collect = collector();
  if (collect !== null) collectPassedBuffers(() => collect({ type: 'minor' }));
}

type Collector = (options: { readonly type: 'minor' }) => void;

/** V8 has it in contexts that are made while the flag is set. */
function collector(): Collector | null {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? (found as Collector) : null;
}
