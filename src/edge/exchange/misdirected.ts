import type { EdgeErrorCode } from '../errors.ts';

type OwnRefusal = readonly [code: EdgeErrorCode, reason: string, message: string];

export const MISDIRECTED: OwnRefusal = [
  'ERR_POSTERN_MISDIRECTED',
  'misdirected',
  'This connection was opened for another host. Try again on a new connection.',
];

export const STALE_CONNECTION: OwnRefusal = [
  'ERR_POSTERN_MISDIRECTED',
  'stale_connection',
  'The requirements of this site for connections have changed. Open a new connection.',
];
