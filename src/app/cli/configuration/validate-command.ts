import { validateConfiguration } from '../../../control/configuration-file/read-configuration.ts';
import { isOn } from '../../../kit/flags.ts';
import { withParts } from '../../../kit/load-part.ts';
import { readProgramFile } from '../../../kit/program-files.ts';
import { type Command, type CommandSyntax, INVALID_USAGE, parseCommand } from '../command.ts';
import { switchFlag } from '../shared-flags.ts';
import { FILES, pathsOf, printProblems, readFiles } from './load-configuration.ts';

const SYNTAX: CommandSyntax = {
  name: 'validate',
  usage: ['-f FILE|DIRECTORY…', '--schema'],
  hasOperands: true,
  about:
    'Checks configuration files without a server. Several files are checked as one configuration. A directory stands for its files with the suffix .yaml or .yml. "postern plan" also compares them with a server.',
  flags: [
    FILES,
    switchFlag('partial', 'Accept names that the files do not have: they may exist on the server.'),
    switchFlag('schema', 'Print the JSON Schema of the format, for editors.'),
  ],
  examples: ['postern validate -f postern-sites.yaml', 'postern validate --schema > postern.schema.json'],
  exitCodes: { 0: 'valid', 1: 'invalid', 2: INVALID_USAGE },
};

const EXIT_INVALID = 1;

/** Checks configuration files. */
export const validateCommand: Command = {
  syntax: SYNTAX,
  run: async (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    if (isOn(parsed, 'schema')) {
      context.print(readProgramFile('control/configuration-file/generated/schema.json').trimEnd());
      return 0;
    }
    const files = await readFiles(pathsOf(parsed, 'validate'));
    const problems = await withParts(() => validateConfiguration(files, { isPartial: isOn(parsed, 'partial') }));
    printProblems(problems, context);
    if (problems.length > 0) return EXIT_INVALID;
    context.print(`${files.length === 1 ? 'the file is' : `${files.length} files are`} valid`);
    return 0;
  },
};
