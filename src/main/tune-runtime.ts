import { setFlagsFromString } from 'node:v8';

/** For programs that run for long, live on objects that do not, and carry bytes. What each is worth: bench/tunnel/README.md. */
export function tuneRuntime(): void {
  // V8 watches at which places of the code objects are made that survive, and puts later ones of these straight into the old space.
  // While a program is young, objects of requests look like that. Once there, each keeps all that it leads to (request, answer,
  // headers, streams) until the next full garbage collection, which looks like survival again: a third of all that is allocated.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Every 32 to 64 MB of buffers, however short their lives, would be a full garbage collection: twenty per GB carried, and half of
  // its CPU time. So they count with the rest of the heap; what is garbage among them goes with the next small collection.
  setFlagsFromString('--external-memory-accounted-in-global-limit');
}
