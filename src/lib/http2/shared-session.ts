import { REPEATED_FIELDS } from '../http/repeated-fields.ts';
import { MAX_SEND_BLOCK_BYTES } from './heads.ts';
import { UNLIMITED_SESSION_MEMORY } from './session-memory.ts';

const UNLIMITED = 2 ** 31;

/**
 * Options of sessions that many exchanges share, to upstreams and between programs of ours. The runtime counts invalid
 * messages and refused streams over the life of a session, and then ends it: after 1,000 and 100. Each of them ends one
 * exchange, and a visitor can cause them by asking for a page that an upstream answers badly. The declared types have
 * them for servers only.
 */
export const SHARED_SESSION = {
  ...UNLIMITED_SESSION_MEMORY,
  ...REPEATED_FIELDS,
  maxSendHeaderBlockLength: MAX_SEND_BLOCK_BYTES,
  maxSessionInvalidFrames: UNLIMITED,
  maxSessionRejectedStreams: UNLIMITED,
} as const;
