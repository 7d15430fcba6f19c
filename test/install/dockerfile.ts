import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../docs/markdown.ts';

export interface Instruction {
  readonly line: number;
  readonly name: string;
  readonly text: string;
}

const KNOWN = new Set('FROM WORKDIR COPY RUN USER ENV EXPOSE VOLUME STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'.split(' '));

/** The instructions of the Dockerfile. Throws for anything that it does not know. */
export function readDockerfile(): readonly Instruction[] {
  const lines = readFileSync(join(projectRoot, 'Dockerfile'), 'utf8').split('\n');
  const instructions: Instruction[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const line = index + 1;
    let text = lines[index] ?? '';
    if (text.trim() === '' || text.startsWith('#')) continue;
    while (text.endsWith('\\')) {
      index += 1;
      text = `${text.slice(0, -1)} ${(lines[index] ?? '').trim()}`;
    }
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(text) ?? [];
    if (!KNOWN.has(name)) throw new Error(`Dockerfile:${line}: ${text}`);
    instructions.push({ line, name, text: rest.replaceAll(/\s+/g, ' ').trim() });
  }
  return instructions;
}

/** Instructions by stage; each begins with FROM. */
export function stages(): readonly (readonly Instruction[])[] {
  const found: Instruction[][] = [];
  for (const instruction of readDockerfile()) {
    if (instruction.name === 'FROM') found.push([]);
    found.at(-1)?.push(instruction);
  }
  return found;
}
