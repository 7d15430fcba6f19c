import type { RawPeer } from '../../../support/raw-peer.ts';
import type { SeededRandom } from './seeded-random.ts';

/** The actions of one end, one step per turn of the event loop or more. */
export type Step = Buffer | 'fin' | 'reset' | 'wait';

const WAIT_MS = 2;

/** Splits a sequence into steps like a network, and may break it off anywhere. */
export function toSteps(random: SeededRandom, parts: readonly Buffer[]): readonly Step[] {
  const steps: Step[] = [];
  const stopsAt = random.chance(0.25) ? random.int(parts.length + 1) : parts.length;
  for (const part of parts.slice(0, stopsAt)) {
    if (part.length > 1 && random.chance(0.15)) {
      const at = 1 + random.int(part.length - 1);
      steps.push(part.subarray(0, at));
      if (random.chance(0.2)) return [...steps, random.pick(['fin', 'reset'])];
      steps.push('wait', part.subarray(at));
    } else steps.push(part);
    if (random.chance(0.1)) steps.push('wait');
  }
  if (stopsAt < parts.length || random.chance(0.15)) steps.push(random.pick(['fin', 'reset', 'wait']));
  return steps;
}

/** Plays steps; consecutive ones are sent in one write. */
export async function play(peer: RawPeer, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (peer.isClosed) return;
    if (step === 'fin') peer.fin();
    else if (step === 'reset') peer.reset();
    else if (step === 'wait') await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    else peer.send(step);
  }
}

export function describeSteps(steps: readonly Step[]): readonly string[] {
  return steps.map((step) => (typeof step === 'string' ? step : JSON.stringify(step.toString('latin1').slice(0, 300))));
}
