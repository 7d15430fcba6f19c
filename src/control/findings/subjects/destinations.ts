import { findingTable } from '../../../kit/findings.ts';
import type { AlertKind } from '../alert-kind.ts';
import type { CheckedDestination } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';

const { kinds, found, ok } = findingTable('destinations', {
  destination_suspended: {
    level: 'problem',
    text: (destination: CheckedDestination) =>
      `${nameOf(destination)} is suspended: it accepted no events for too long`,
    advice: ({ id }: CheckedDestination) =>
      `repair the receiver, then resume it: postern api event-destinations resume ${id}`,
  },
  destination_paused: {
    level: 'hint',
    text: (destination: CheckedDestination) => `${nameOf(destination)} is paused: its events wait`,
    advice: ({ id }: CheckedDestination) => `resume it: postern api event-destinations resume ${id}`,
  },
});

/** People know it by its description. The finding names the id beside it. */
function nameOf({ id, description }: Pick<CheckedDestination, 'id' | 'description'>): string {
  return `the event destination ${description === '' ? id : `"${description}"`}`;
}

/** Event destinations that get nothing. */
export const destinationsCheck: Check = {
  name: 'destinations',
  nouns: ['event_destinations'],
  kinds,
  *run({ event_destinations: all }) {
    for (const destination of all) {
      const { id, status } = destination;
      if (status === 'active') yield ok(`${nameOf(destination)} is active`);
      else yield found(status === 'paused' ? 'destination_paused' : 'destination_suspended', destination, { id });
    }
  },
};

/** A destination that has not accepted an event for a while, although events wait for it. */
const deliveryStuck: AlertKind = {
  code: 'delivery_stuck',
  advice: 'check the destination: postern api event-destinations test ID; pause it if it is to wait',
  sight: 'installation',
  raiseAfterMs: () => 0,
  resolveAfterMs: 30_000,
  isOn: ({ deliveryStuckMs }) => deliveryStuckMs > 0,
  createLook: () => async (facts) => {
    const lanes = await facts.lanes();
    const beforeMs = facts.nowMs - facts.limits.deliveryStuckMs;
    const stuck = lanes.filter(
      // A destination that somebody paused is not stuck.
      ({ isHeld, pending, oldestPendingMs }) => !isHeld && pending > 0 && (oldestPendingMs ?? facts.nowMs) < beforeMs,
    );
    const subjects = new Set(stuck.map(({ destinationId }) => destinationId));
    return [...subjects].map((subject) => {
      const description = facts.record('event_destination', subject)?.doc['description'];
      const name = nameOf({ id: subject, description: typeof description === 'string' ? description : '' });
      return { subject, state: 'bad' as const, title: `${name} accepts no events` };
    });
  },
};

export const destinations: Subject = { checks: [destinationsCheck], alerts: [deliveryStuck] };
