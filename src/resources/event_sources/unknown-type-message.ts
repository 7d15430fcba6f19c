import { didYouMean } from '../../lib/text/near-match.ts';

export function unknownTypeMessage(type: string, known: readonly string[]): string {
  return `names "${type.slice(0, 100)}", which is not an event type.${didYouMean(type, known)} GET /event_types lists all event types`;
}
