import { readProgramFile } from '../../kit/program-files.ts';

export function programVersion(): string {
  const { version } = JSON.parse(readProgramFile('../package.json')) as { version: string };
  return version;
}
