import { usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import { apiResources } from '../api/api-resources.ts';
import { operationList } from '../api/operation-list.ts';
import type { Command } from '../command.ts';
import { apiNodes, type CompletionNode, helpNode } from './completion-node.ts';
import { completionScript, SHELLS } from './shell-scripts.ts';

const HELP = `
Usage: postern completion bash|zsh|fish

Prints a script that completes commands, resources, verbs, flags and their values. For the current shell only:

  bash   source <(postern completion bash)
  zsh    source <(postern completion zsh)
  fish   postern completion fish | source

To make it permanent, add the line to ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish.
`;

interface CommandRow {
  readonly name: string;
  load(): Promise<Command>;
}

export function createCompletionCommand(commands: readonly CommandRow[]): Command {
  return {
    help: HELP,
    run: async ([name = '', ...rest], context) => {
      const shell = SHELLS.find((known) => known === name);
      if (shell === undefined || rest.length > 0) {
        throw usage(`usage: postern completion ${SHELLS.join('|')}.${name === '' ? '' : didYouMean(name, SHELLS)}`);
      }
      context.print(completionScript(shell, await completionNodes(commands)).trimEnd());
      return 0;
    },
  };
}

async function completionNodes(commands: readonly CommandRow[]): Promise<readonly CompletionNode[]> {
  const nodes: CompletionNode[] = [{ path: '', words: commands.map(({ name }) => name), flags: [] }];
  for (const command of commands) {
    const { name } = command;
    if (name === 'api') nodes.push(...apiNodes(apiResources(operationList())));
    else if (name === 'completion') nodes.push({ path: name, words: [...SHELLS], flags: [] });
    else nodes.push(helpNode(name, await command.load()));
  }
  return nodes;
}
