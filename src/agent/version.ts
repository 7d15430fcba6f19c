import { readProgramFile } from '../lib/program-files.ts';

export function ownVersion(): string {
  return (JSON.parse(readProgramFile('../package.json')) as { version: string }).version;
}
