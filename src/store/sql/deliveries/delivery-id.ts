import { createHash } from 'node:crypto';
import type { LaneKey } from '../../store.ts';
import { laneText } from './lane-rows.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const VALUES = new Map(Array.from(ALPHABET, (character, value) => [character.charCodeAt(0), value]));
/** The start of a KSUID: its time. */
const TIME_LENGTH = 9;
const RANDOM_LENGTH = 18;
const PREFIX = 'evd_';

/**
 * Ids of a lane's deliveries, derived from their events' ids, since a transaction has no id generator: the same prefix,
 * so that ids keep their order, and the rest shifted by digits specific to the lane. So a lane never creates an id
 * twice, and two lanes collide only as often as two KSUIDs.
 */
export function deliveryIds(lane: LaneKey): (eventId: string) => string {
  const shifts = createHash('sha256').update(laneText(lane)).digest().subarray(0, RANDOM_LENGTH);
  return (eventId) => {
    const ksuid = eventId.slice(eventId.indexOf('_') + 1).padEnd(TIME_LENGTH + RANDOM_LENGTH, '0');
    let id = `${PREFIX}${ksuid.slice(0, TIME_LENGTH)}`;
    for (const [at, shift] of shifts.entries()) {
      const value = VALUES.get(ksuid.charCodeAt(TIME_LENGTH + at)) ?? 0;
      id += ALPHABET.charAt((value + shift) % ALPHABET.length);
    }
    return id;
  };
}

/** Above the ids of all deliveries of the same age, such as the others of its event; below those of younger ones. */
export function endOfSameAge(deliveryId: string): string {
  return `${deliveryId.slice(0, PREFIX.length + TIME_LENGTH)}~`;
}
