import Type from 'typebox';
import { defineDestinationKind } from '../destination-kind.ts';
import { createFileSender } from './file-sender.ts';

/** Lines in a file under the data directory. */
export const file = defineDestinationKind({
  name: 'file',
  description: 'Appends each event as one line of JSON to a file in the data directory.',
  config: Type.Object({
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: '^[A-Za-z0-9][A-Za-z0-9_-]*(\\.[A-Za-z0-9_-]+)*$',
      description:
        'Name of the file, without directories: letters, digits, "-", "_" and single dots, such as "audit.ndjson".',
    }),
  }),
  place: 'name',
  example: { name: 'audit.ndjson' },
  createSender: createFileSender,
});
