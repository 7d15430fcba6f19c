import { PROTOCOL_VERSION } from '../tunnel/protocol.ts';
import type { LocalConnection } from './local-connection.ts';

/** Slows down guessing of tokens and of invitations. */
export const WRONG_SECRET_DELAY_MS = 1_000;

/** Refuses a first message that this process cannot serve, with a right secret or a wrong one. */
export function isRefusedFirst(connection: LocalConnection, version: number, isClosing: boolean): boolean {
  if (isClosing) {
    connection.refuse('ERR_POSTERN_GATEWAY_DRAINING', 'the server is being stopped; try again in a moment', true);
    return true;
  }
  if (version === PROTOCOL_VERSION) return false;
  const message = `the server speaks protocol version ${PROTOCOL_VERSION}, but the agent version ${version}: use the same release of both`;
  connection.refuse('ERR_POSTERN_AGENT_PROTOCOL', message, false);
  return true;
}
