import { validateConfiguration } from '../../configuration-file/validate-configuration.ts';
import { readProgramFile } from '../../lib/program-files.ts';
import type { Command } from '../command.ts';
import { FILE_FLAGS, pathsOf } from './file-flags.ts';
import { printProblems } from './print-problems.ts';
import { readFiles } from './read-files.ts';
import { parseRepeatedFlags } from './repeated-flags.ts';

const HELP = `
Usage: postern validate -f FILE|DIRECTORY... [FLAGS]
       postern validate --schema

Checks configuration files without a server. Several files are checked as one configuration; of a directory, the files with
the suffix .yaml and .yml. "postern plan" also compares them with a server.

  --file              file or directory; can be repeated, - reads standard input; -f for short
  --partial           accept names that the files do not have: they may exist on the server
  --schema            print the JSON Schema of the format, for editors

Exit codes: 0 valid, 1 invalid, 2 invalid usage.
`;

const EXIT_INVALID = 1;

/** Checks configuration files. */
export const validateCommand: Command = {
  help: HELP,
  run: async (args, context) => {
    const known = new Map([
      ['partial', 'switch'],
      ['schema', 'switch'],
    ] as const);
    const parsed = parseRepeatedFlags(args, known, ...FILE_FLAGS);
    if (parsed.flags.get('schema') === 'true') {
      context.print(readProgramFile('configuration-file/generated/schema.json').trimEnd());
      return 0;
    }
    const files = await readFiles(pathsOf(parsed, 'validate'));
    const problems = validateConfiguration(files, { isPartial: parsed.flags.get('partial') === 'true' });
    printProblems(problems, context);
    if (problems.length > 0) return EXIT_INVALID;
    context.print(`${files.length === 1 ? 'the file is' : `${files.length} files are`} valid`);
    return 0;
  },
};
