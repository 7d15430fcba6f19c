import { errorTable } from '../../kit/errors.ts';

export const resourceErrors = errorTable({
  ERR_POSTERN_FORBIDDEN: {
    status: 403,
    explanation:
      'The API key lacks the scope that the operation requires; details.scope names it. Use a key that has the scope.',
  },
  ERR_POSTERN_NOT_FOUND: {
    status: 404,
    explanation:
      'The resource does not exist, or not under this path. List the collection to see the existing resources.',
  },
  ERR_POSTERN_INVALID_QUERY: {
    status: 400,
    explanation: 'A query parameter is unknown, repeated or out of range. details.parameter names it.',
  },
  ERR_POSTERN_INVALID_TIME: {
    status: 400,
    explanation: 'A time is not in RFC 3339 format, such as 2026-11-01T00:00:00Z. details.field names it.',
  },
  ERR_POSTERN_UNKNOWN_EVENT_TYPE: {
    status: 400,
    explanation: 'The event type does not exist. GET /event_types lists all event types.',
  },
  ERR_POSTERN_EVENT_SOURCE_EXISTS: {
    status: 409,
    explanation: 'The subscription already includes the event type. Nothing needs to be done.',
  },
  ERR_POSTERN_AGENT_REFUSES: {
    status: 409,
    explanation:
      'The agent rejected the command, usually because it was started with remote_management: false. Stop, restart or update it on its machine.',
  },
  ERR_POSTERN_AGENT_UNREACHABLE: {
    status: 503,
    explanation:
      'No node that can forward the command to the agent responds. Retry; if the error persists, stop the agent on its machine.',
  },
  ERR_POSTERN_DELIVERY_CLOSED: {
    status: 409,
    explanation:
      'The subscription of the delivery was deleted or no longer sends to that destination, so the event cannot be delivered again.',
  },
  ERR_POSTERN_IDENTITY_OFF: {
    status: 409,
    explanation:
      'The server has no identity host, so nobody can be invited. Set identity_host and start the server again.',
  },
  ERR_POSTERN_ACCOUNT_DISABLED: {
    status: 409,
    explanation: 'A disabled person cannot be invited. Set "active" of the account to true first.',
  },
  ERR_POSTERN_TOO_MANY_TESTS: {
    status: 429,
    explanation: 'The server has tested many addresses within the last minute. Wait as long as Retry-After says.',
  },
  ERR_POSTERN_NO_EVENT_DELIVERY: {
    status: 503,
    explanation: 'No node delivers events (role "events"), so a destination cannot be tested.',
  },
});

/** A scope that a key lacks for the requested operation. */
export interface MissingScope {
  readonly message: string;
  readonly scope: string;
}

export function refuseWithout(missing: MissingScope | null): void {
  if (missing === null) return;
  throw resourceErrors.create('ERR_POSTERN_FORBIDDEN', missing.message, { details: { scope: missing.scope } });
}

/** The error for a live resource that does not exist, or no longer exists. */
export function notOnline(title: string, path: string, id: string): Error {
  return resourceErrors.create(
    'ERR_POSTERN_NOT_FOUND',
    `there is no ${title} with the id "${id.slice(0, 64)}": GET ${path} lists the existing ones`,
    {
      details: { id: id.slice(0, 64) },
    },
  );
}
