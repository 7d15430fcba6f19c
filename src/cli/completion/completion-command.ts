import { usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/text/near-match.ts';
import { apiResources } from '../api/api-resources.ts';
import { operationList } from '../api/operation-list.ts';
import type { Command, CommandContext } from '../command.ts';
import { type CommandSyntax, INVALID_USAGE } from '../command-syntax.ts';
import { parseCommand } from '../parse-command.ts';
import { apiNodes, type CompletionNode, commandNodes } from './completion-node.ts';
import { completionScript, NAMES, SHELLS } from './shell-scripts.ts';

const SYNTAX: CommandSyntax = {
  name: 'completion',
  usage: ['bash|zsh|fish'],
  hasOperands: true,
  about:
    'Prints a script that completes commands, resources, verbs, flags and their values. To make it permanent, add the line below to ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish.',
  examples: [
    'source <(postern completion bash)',
    'source <(postern completion zsh)',
    'postern completion fish | source',
  ],
  exitCodes: { 0: 'success', 2: INVALID_USAGE },
};

interface CommandRow {
  readonly name: string;
  load(): Promise<Command>;
}

export function createCompletionCommand(commands: readonly CommandRow[]): Command {
  return {
    syntax: SYNTAX,
    run: async (args, context) => {
      // For the scripts, which pass whatever was typed so far.
      if (args[0] === NAMES) return printNames(args.slice(1), context);
      const [name = '', ...rest] = parseCommand(SYNTAX, args).positionals;
      if (name === '' || rest.length > 0) throw usage('postern completion takes one shell: bash, zsh or fish');
      const shell = SHELLS.find((known) => known === name);
      if (shell === undefined)
        throw usage(
          `there is no completion for ${name}: the shells are bash, zsh and fish.${didYouMean(name, SHELLS)}`,
        );
      context.print(completionScript(shell, await completionNodes(commands)).trimEnd());
      return 0;
    },
  };
}

async function printNames([kinds = '', begun = '']: readonly string[], context: CommandContext): Promise<number> {
  const { listNames } = await import('./list-names.ts');
  const names = await listNames(kinds.split(','), begun, context);
  // The shell waits for the end of the process, not for its output.
  if (names === null) context.leave?.();
  for (const name of names ?? []) context.print(name);
  return 0;
}

async function completionNodes(commands: readonly CommandRow[]): Promise<readonly CompletionNode[]> {
  const nodes: CompletionNode[] = [{ path: '', words: commands.map(({ name }) => name), flags: [] }];
  for (const command of commands) {
    const { name } = command;
    if (name === 'api') nodes.push(...apiNodes(apiResources(operationList())));
    else if (name === 'completion') nodes.push({ path: name, words: [...SHELLS], flags: [] });
    else nodes.push(...commandNodes((await command.load()).syntax));
  }
  return nodes;
}
