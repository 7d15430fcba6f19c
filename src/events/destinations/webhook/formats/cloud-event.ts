import type { JsonObject } from '../../../../lib/json.ts';

/** CloudEvents 1.0, JSON format, structured mode. `data` is the event as the format `json` sends it. */
export function cloudEventBody(envelope: string): string {
  const event = JSON.parse(envelope) as JsonObject;
  const { id } = (event['object'] ?? {}) as JsonObject;
  return JSON.stringify({
    specversion: '1.0',
    id: event['event_id'],
    // Source and id together are unique: the account is the installation.
    source: `urn:postern:${event['account_id'] as string}`,
    type: event['event_type'],
    time: event['event_timestamp'],
    ...(typeof id === 'string' && id !== '' && { subject: id }),
    datacontenttype: 'application/json',
    data: event,
  });
}
