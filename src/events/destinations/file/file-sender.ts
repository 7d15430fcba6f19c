import { KeyedMutex } from '../../../lib/async/keyed-mutex.ts';
import type { DestinationPorts, DestinationSender } from '../destination-kind.ts';
import { EventFile } from './event-file.ts';

export interface FileConfig {
  readonly name: string;
}

/** A full or failing disk makes the lane wait: it may recover. Two destinations may share a file. */
export function createFileSender(ports: DestinationPorts): DestinationSender<FileConfig> {
  const files = new Map<string, EventFile>();
  const turns = new KeyedMutex();

  function fileOf(name: string): EventFile {
    const known = files.get(name) ?? new EventFile(ports.folder, name, ports.fileLimits);
    files.set(name, known);
    return known;
  }

  return {
    send: ({ name }, { body }) =>
      turns.run(name, async () => {
        try {
          await fileOf(name).append(body);
          return { verdict: 'delivered', status: null, error: null };
        } catch (error) {
          const code = (error as NodeJS.ErrnoException).code ?? 'an error';
          return { verdict: 'wait', status: null, error: `the file could not be written: ${code}` };
        }
      }),
    close: async () => {
      for (const [name, file] of files) await turns.run(name, () => file.close());
    },
  };
}
