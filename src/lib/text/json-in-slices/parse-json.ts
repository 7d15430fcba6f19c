import { type SliceLane, TimeSlice } from '../../async/slice-lane.ts';
import { JsonAssembly } from './json-assembly.ts';

/** About a millisecond. */
const BYTES_PER_STEP = 65_536;

/**
 * `JSON.parse` in slices: 64 MiB of it would take the event loop for a second. `parseText` parses a part, and may
 * reject more than JSON does. Throws a RangeError if the value is nested too deeply, has too many values, or a text that
 * is too long to be parsed in one turn.
 */
export async function parseJsonInSlices(
  lane: SliceLane,
  bytes: Uint8Array,
  parseText: (text: string) => unknown,
): Promise<unknown> {
  const assembly = new JsonAssembly(bytes, parseText);
  const slice = new TimeSlice(lane);
  for (let at = 0; at < bytes.length; at += BYTES_PER_STEP) {
    assembly.scan(Math.min(at + BYTES_PER_STEP, bytes.length));
    if (slice.isOver) await slice.next();
  }
  return assembly.result();
}
