/** Others, such as exec of health checks, are frequent and change nothing here. */
const ACTIONS = new Set([
  'start',
  'die',
  'died',
  'stop',
  'kill',
  'pause',
  'unpause',
  'rename',
  'update',
  'restart',
  'destroy',
  'remove',
  'cleanup',
  'health_status',
  'connect',
  'disconnect',
]);

/** The id of the container that an event changed; null for any other event, and for what is not an event. */
export function changedContainer(event: unknown): string | null {
  const { Type: type, Action: action, Actor: actor } = fieldsOf(event);
  if ((type !== 'container' && type !== 'network') || typeof action !== 'string') return null;
  // `health_status: healthy`.
  if (!ACTIONS.has(action.split(':')[0] ?? '')) return null;
  const { ID: id, Attributes: attributes } = fieldsOf(actor);
  const container = type === 'container' ? id : fieldsOf(attributes)['container'];
  return typeof container === 'string' && container.length <= 128 ? container : null;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
