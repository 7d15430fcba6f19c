import { isSea } from 'node:sea';

export interface Program {
  readonly command: string;
  /** Before the name of the postern command. */
  readonly args: readonly string[];
}

/** How to start the program that runs now: Node with a script, or one executable file. */
export function thisProgram(): Program {
  if (isSea()) return { command: process.execPath, args: [] };
  return { command: process.execPath, args: [...process.execArgv, process.argv[1] ?? ''] };
}
