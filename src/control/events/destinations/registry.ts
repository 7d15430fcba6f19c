import type { DestinationKind } from './destination-kind.ts';
import { file } from './file/file.ts';
import { webhook } from './webhook/webhook.ts';

/** Every kind of event destination. */
export const destinationKinds: readonly DestinationKind[] = [webhook, file];
