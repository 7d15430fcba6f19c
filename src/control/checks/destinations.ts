import { type Check, findingMaker } from './check.ts';

const found = findingMaker('destinations');

/** Event destinations that get nothing. */
export const destinations: Check = {
  name: 'destinations',
  nouns: ['event_destinations'],
  *run({ event_destinations: all }) {
    for (const { id, description, status } of all) {
      const name = description === '' ? id : `${id} (${description})`;
      if (status === 'suspended')
        yield found.problem(
          `${name} is suspended: it accepted no events for too long`,
          `repair the receiver, then resume it: postern api event-destinations resume ${id}`,
          { id },
        );
      else if (status === 'paused')
        yield found.hint(
          `${name} is paused: its events wait`,
          `resume it: postern api event-destinations resume ${id}`,
          {
            id,
          },
        );
      else yield found.ok(`${name} is active`);
    }
  },
};

const foundAlert = findingMaker('alerts');

/** Another check reports the same, with the object that it is about. */
const CHECKED_ELSEWHERE = ['certificate_expiring', 'certificate_failing', 'node_lost'];

/** Alerts that are raised: what stays wrong while the server watches. */
export const alerts: Check = {
  name: 'alerts',
  nouns: ['alerts'],
  *run({ alerts: raised }) {
    for (const { id, kind, title, advice } of raised) {
      if (!CHECKED_ELSEWHERE.includes(kind)) yield foundAlert.problem(title, advice, { id });
    }
  },
};
