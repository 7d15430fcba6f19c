import type { AlertKind } from '../../alert-kind.ts';

/** A destination that has not accepted an event for a while, although events wait for it. */
export const deliveryStuck: AlertKind = {
  name: 'delivery_stuck',
  description: 'Events have waited for a destination for longer than alert_delivery_stuck.',
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
      const name = typeof description === 'string' && description !== '' ? `"${description}" (${subject})` : subject;
      return { subject, state: 'bad' as const, title: `the event destination ${name} accepts no events` };
    });
  },
};
