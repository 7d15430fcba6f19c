import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { collectPassedBuffers } from '../net/passing-buffers.ts';

/**
 * For long-running programs with short-lived objects that forward bytes. What each setting gains:
 * bench/tunnel/README.md.
 */
export function tuneRuntime(): void {
  // V8 records which allocation sites create objects that survive, and allocates later ones directly in the old space.
  // While a program is young, request objects look like that. Once there, each keeps everything that it refers to
  // (request, response, headers, streams) until the next full garbage collection, which looks like survival again: a
  // third of all that is allocated.
  setFlagsFromString('--no-allocation-site-pretenuring');
  const collect = collector();
  if (collect !== null) collectPassedBuffers(() => collect({ type: 'minor' }));
}

type Collector = (options: { readonly type: 'minor' }) => void;

/** V8 exposes it in contexts created while the flag is set. */
function collector(): Collector | null {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? (found as Collector) : null;
}
