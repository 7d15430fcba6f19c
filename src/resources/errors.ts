import { errorTable } from '../lib/errors.ts';

export const resourceErrors = errorTable({
  ERR_POSTERN_FORBIDDEN: {
    status: 403,
    explanation:
      'The API key lacks the scope that the operation needs; details.scope names it. Use another key, or have one made with that scope.',
  },
  ERR_POSTERN_NOT_FOUND: {
    status: 404,
    explanation:
      'There is no such resource, or it is not under the path that was asked for. List the collection to see what there is.',
  },
  ERR_POSTERN_INVALID_QUERY: {
    status: 400,
    explanation: 'A query parameter is unknown, repeated or out of range. details.parameter names it.',
  },
  ERR_POSTERN_INVALID_TIME: {
    status: 400,
    explanation: 'A time is not written as RFC 3339 has it, such as 2026-11-01T00:00:00Z. details.field names it.',
  },
  ERR_POSTERN_UNKNOWN_EVENT_TYPE: {
    status: 400,
    explanation: 'There is no event type of that name. GET /event_types lists them all.',
  },
  ERR_POSTERN_EVENT_SOURCE_EXISTS: {
    status: 409,
    explanation: 'The subscription already triggers for that event type. Nothing needs to be done.',
  },
  ERR_POSTERN_AGENT_REFUSES: {
    status: 409,
    explanation:
      'The agent does not take this command: mostly it was started with remote_management: false. Stop, restart or update it where it runs.',
  },
  ERR_POSTERN_AGENT_UNREACHABLE: {
    status: 503,
    explanation:
      'No process that could pass the command to the agent answers. Try again; if it stays so, stop the agent where it runs.',
  },
  ERR_POSTERN_DELIVERY_CLOSED: {
    status: 409,
    explanation:
      'The subscription of the delivery is deleted, or no longer sends to that destination, so there is no way on which to deliver it again.',
  },
  ERR_POSTERN_NO_EVENT_DELIVERY: {
    status: 503,
    explanation: 'No process of this server delivers events, so a destination cannot be tried out.',
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
    `there is no ${title} with the id "${id.slice(0, 64)}": GET ${path} lists what there is`,
    {
      details: { id: id.slice(0, 64) },
    },
  );
}
