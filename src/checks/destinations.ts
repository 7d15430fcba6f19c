import type { Check } from './check.ts';
import { findingMaker } from './finding.ts';

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
