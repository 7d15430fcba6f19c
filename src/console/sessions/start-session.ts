import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { SignedIn } from '../../resources/console-session-record.ts';
import type { ConsoleSessions, StartedSession } from './console-sessions.ts';

/** Starts a new session for every login: the cookie that the browser had before is invalid afterwards. */
export function startSession(
  sessions: ConsoleSessions,
  logger: Pick<Logger, 'info'>,
): (request: FastifyRequest, who: SignedIn) => Promise<StartedSession> {
  return async (request, who) => {
    const previous = sessions.ofCookie(request.headers.cookie, () => true);
    const userAgent = request.headers['user-agent'] ?? '';
    const started = await sessions.start(who, { address: request.ip, userAgent });
    if (previous !== null) await sessions.end(previous.id);
    const { id } = started.session;
    logger.info({ session_id: id, kind: who.kind, address: request.ip }, 'logged in to the console');
    return started;
  };
}
