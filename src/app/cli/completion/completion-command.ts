import { type Flag, usage } from '../../../kit/flags.ts';
import { referenceAnnotation } from '../../../kit/schema/schema-facts.ts';
import { didYouMean } from '../../../kit/text/near-match.ts';
import { type ApiResource, apiResources, verbWord } from '../api/api-resources.ts';
import type { ApiFlag } from '../api/body-flags.ts';
import { operationFlags } from '../api/operation-flags.ts';
import { type OperationDescription, operationList } from '../api/operation-list.ts';
import {
  type Command,
  type CommandContext,
  type CommandSyntax,
  flagsOf,
  INVALID_USAGE,
  parseCommand,
} from '../command.ts';
import { type Collection, collectionsOf } from '../names/names.ts';

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

/** The words that can follow a sequence of words. */
export interface CompletionNode {
  /** The words so far: `api https-edges create`. */
  readonly path: string;
  readonly words: readonly string[];
  readonly flags: readonly CompletedFlag[];
  /** Kinds of resources that an argument without a flag names. */
  readonly completedBy?: readonly string[] | undefined;
}

export interface CompletedFlag {
  /** With its dashes. */
  readonly name: string;
  readonly takesValue: boolean;
  readonly choices?: readonly string[] | undefined;
  readonly isFile?: boolean | undefined;
  readonly completedBy?: readonly string[] | undefined;
}

export function apiNodes(resources: readonly ApiResource[]): readonly CompletionNode[] {
  const collections = collectionsOf(operationList());
  const nodes: CompletionNode[] = [{ path: 'api', words: resources.map(({ name }) => name), flags: [] }];
  for (const { name, aliases, operations } of resources) {
    for (const noun of [name, ...aliases]) {
      nodes.push({ path: `api ${noun}`, words: operations.map(verbWord), flags: [] });
      for (const operation of operations) {
        const own = operationFlags(operation).map((flag) => ({ ...flag, ...namedKinds(operation, flag, collections) }));
        const flags = own.flatMap((flag) => {
          // A field can also be set to false.
          return completedFlag(flag.target.in === 'body' ? { ...flag, isOnByDefault: true } : flag);
        });
        // The last identifier also works without its flag.
        const completedBy = own.findLast(({ target }) => target.in === 'path')?.completedBy;
        nodes.push({ path: `api ${noun} ${verbWord(operation)}`, words: [], flags, completedBy });
      }
    }
  }
  return nodes;
}

/**
 * The kinds of resources that a value names: an identifier, a filter with the pattern of an id, a field that refers to
 * something.
 */
function namedKinds(
  { path, query }: OperationDescription,
  { target, schema }: ApiFlag,
  collections: readonly Collection[],
): Pick<Flag, 'completedBy'> {
  const kindsOf = (collection: Collection | undefined) => (collection ? { completedBy: [collection.kind] } : {});
  switch (target.in) {
    case 'path':
      return kindsOf(collections.find((each) => each.path === path.split(`/{${target.name}}`)[0]));
    case 'query': {
      const { pattern } = (query?.properties[target.name] ?? {}) as { readonly pattern?: string };
      const isId = pattern !== undefined && target.name !== 'before_id';
      return isId ? kindsOf(collections.find(({ idPattern }) => idPattern === pattern)) : {};
    }
    case 'body': {
      const kinds = schema && referenceAnnotation(schema)?.kinds;
      return kinds === undefined ? {} : { completedBy: kinds };
    }
    case 'command':
      return {};
  }
}

/** One for the command, one for each subcommand. */
export function commandNodes(syntax: CommandSyntax): readonly CompletionNode[] {
  const { name, subcommands = [] } = syntax;
  const standard = subcommands.find(({ isDefault }) => isDefault === true) ?? null;
  const flags = flagsOf(syntax, standard).flatMap(completedFlag);
  return [
    { path: name, words: subcommands.map((each) => each.name), flags, completedBy: syntax.completedBy },
    ...subcommands.map((each) => ({
      path: `${name} ${each.name}`,
      words: [],
      flags: flagsOf(syntax, each).flatMap(completedFlag),
      completedBy: each.completedBy,
    })),
  ];
}

/** A switch that is off anyway is not offered as `--no-x`. */
function completedFlag({ name, kind, choices, isFile, isOnByDefault, completedBy }: Flag): readonly CompletedFlag[] {
  if (kind !== 'switch') return [{ name: `--${name}`, takesValue: true, choices, isFile, completedBy }];
  const names = [`--${name}`, ...(isOnByDefault === true ? [`--no-${name}`] : [])];
  return names.map((each) => ({ name: each, takesValue: false }));
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * `postern completion names KINDS TEXT` prints names that complete the text. Not in the help: only the scripts call it.
 */
export const NAMES = 'names';
/** In place of a flag: an argument without one. */
const OPERAND = ':operand';

/**
 * The script contains all words, so that a key press starts no program, except where a name belongs that only the
 * server knows.
 */
export function completionScript(shell: Shell, nodes: readonly CompletionNode[]): string {
  switch (shell) {
    case 'bash':
      return `${tables(nodes)}\n${BASH}`;
    case 'zsh':
      return `#compdef postern\n${tables(nodes)}\n${ZSH}`;
    case 'fish':
      return `${fishTables(nodes)}\n${FISH}`;
  }
}

/** Two lookup tables that bash and zsh read alike: the words that can follow a path, and the values of a flag. */
function tables(nodes: readonly CompletionNode[]): string {
  const next = nodes.map(({ path, words, flags }) => {
    return `    "${path}") echo "${[...words, ...flags.map(({ name }) => name)].join(' ')}" ;;`;
  });
  const values = valueRows(nodes).map(({ path, flag, value }) => `    "${path} ${flag}") echo "${value}" ;;`);
  return `_postern_next() {
  case "$1" in
${next.join('\n')}
  esac
}
_postern_values() {
  case "$1" in
${values.join('\n')}
  esac
}`;
}

function fishTables(nodes: readonly CompletionNode[]): string {
  const next = nodes.map(({ path, words, flags }) => {
    return `    case "${path}"\n      printf '%s\\n' ${[...words, ...flags.map(({ name }) => name)].join(' ')}`;
  });
  const values = valueRows(nodes).map(
    ({ path, flag, value }) => `    case "${path} ${flag}"\n      printf '%s\\n' ${value}`,
  );
  return `function __postern_next
  switch "$argv"
${next.join('\n')}
  end
end
function __postern_values
  switch "$argv"
${values.join('\n')}
  end
end`;
}

/** `:file` asks for file names, `:names KINDS` for names that the server knows, `:any` for an arbitrary value. */
function valueRows(nodes: readonly CompletionNode[]): { path: string; flag: string; value: string }[] {
  return nodes.flatMap(({ path, flags, completedBy }) => {
    const operand = completedBy === undefined ? [] : [{ path, flag: OPERAND, value: namesValue(completedBy) }];
    const values = flags
      .filter(({ takesValue, isFile }) => takesValue || isFile === true)
      .map((flag) => ({ path, flag: flag.name, value: textOfValue(flag) }));
    return [...values, ...operand];
  });
}

function textOfValue({ choices, isFile, completedBy }: CompletedFlag): string {
  if (choices !== undefined) return choices.join(' ');
  if (isFile === true) return ':file';
  return completedBy === undefined ? ':any' : namesValue(completedBy);
}

function namesValue(kinds: readonly string[]): string {
  return `${NAMES_PREFIX}${kinds.join(',')}`;
}

const NAMES_PREFIX = ':names:';

// Splits the line again: bash also splits its own words at "=", ":" and "@". A candidate replaces only what follows the
// last of them.
const BASH = `_postern_names() {
  local name typed="\${cur##*[:=]}"
  [[ $typed == *@* ]] && typed="@\${typed##*@}"
  COMPREPLY=()
  while IFS= read -r name; do
    name="\${name#"\${cur%"$typed"}"}"
    printf -v name %q "$name"
    COMPREPLY+=("$name")
  done < <("\${program[@]}" completion names "$1" "$cur" 2> /dev/null < /dev/null)
}
_postern() {
  local line="\${COMP_LINE:0:COMP_POINT}" path="" values word index last cur prev first=0
  local -a words program
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  last=$((\${#words[@]} - 1))
  COMPREPLY=()
  if [[ \${words[0]##*/} == npx ]]; then
    [[ \${words[1]} == postern && $last -gt 1 ]] || return
    first=1
  fi
  program=("\${words[@]:0:first+1}")
  cur="\${words[last]}" prev="\${words[last - 1]}"
  for ((index = first + 1; index < last; index++)); do
    word="\${words[index]}"
    [[ $word == -* ]] && break
    [[ -n $(_postern_next "\${path:+$path }$word") ]] || break
    path="\${path:+$path }$word"
  done
  [[ $cur == --*=* ]] && prev="\${cur%%=*}" cur="\${cur#*=}"
  values="$(_postern_values "$path $prev")"
  if [[ -n $values && $cur == @* ]]; then
    local IFS=$'\\n'
    COMPREPLY=($(compgen -P @ -f -- "\${cur#@}"))
  elif [[ $values == :file ]]; then
    compopt -o filenames 2> /dev/null
    local IFS=$'\\n'
    COMPREPLY=($(compgen -f -- "$cur"))
  elif [[ $values == :names:* ]]; then
    _postern_names "\${values#:names:}"
  elif [[ $values == :any ]]; then
    COMPREPLY=()
  elif [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$cur"))
  else
    values="$(_postern_values "$path :operand")"
    [[ $values == :names:* && $cur != -* ]] && _postern_names "\${values#:names:}"
    COMPREPLY+=($(compgen -W "$(_postern_next "$path")" -- "$cur"))
  fi
}
complete -F _postern postern
complete -p npx > /dev/null 2>&1 || complete -o default -F _postern npx
`;

const ZSH = `_postern_names() {
  local -a names
  names=("\${(@f)$("\${program[@]}" completion names "$1" "\${(Q)PREFIX}" 2> /dev/null < /dev/null)}")
  [[ -n "$names" ]] && compadd -- $names
}
_postern() {
  local postern_path="" values word index first=1
  local -a program
  if [[ "\${words[1]:t}" == npx ]]; then
    if [[ "\${words[2]}" != postern || $CURRENT -le 2 ]]; then
      _default
      return
    fi
    first=2
  fi
  program=("\${(@)words[1,first]}")
  for ((index = first + 1; index < CURRENT; index++)); do
    word="\${words[index]}"
    [[ $word == -* ]] && break
    [[ -n $(_postern_next "\${postern_path:+$postern_path }$word") ]] || break
    postern_path="\${postern_path:+$postern_path }$word"
  done
  values="$(_postern_values "$postern_path \${words[CURRENT-1]}")"
  if [[ $PREFIX == @* ]]; then
    compset -P @
    _files
  elif [[ $values == :file ]]; then
    _files
  elif [[ $values == :names:* ]]; then
    _postern_names "\${values#:names:}"
  elif [[ $values == :any ]]; then
    return 0
  elif [[ -n $values ]]; then
    compadd -- \${=values}
  else
    values="$(_postern_values "$postern_path :operand")"
    [[ $values == :names:* && $PREFIX != -* ]] && _postern_names "\${values#:names:}"
    compadd -- \${=$(_postern_next "$postern_path")}
  fi
}
if [[ $funcstack[1] == _postern ]]; then
  _postern "$@"
else
  compdef _postern postern
  (( \${+_comps[npx]} )) || compdef _postern npx
fi
`;

const FISH = `function __postern_names
  $argv[2..-1] completion names (string replace ':names:' '' -- $argv[1]) (commandline -ct) 2> /dev/null < /dev/null
end
function __postern_complete
  set -l before (commandline -opc)
  set -l first 1
  string match -qr '(^|/)npx$' -- $before[1]; and set first 2
  set -l program $before[1..$first]
  set -l path ""
  for word in $before[(math $first + 1)..-1]
    string match -q -- '-*' $word; and break
    test -n "$(__postern_next (string trim "$path $word"))"; or break
    set path (string trim "$path $word")
  end
  set -l values (__postern_values "$path $before[-1]")
  switch "$values"
    case ':file'
      __fish_complete_path (commandline -ct)
    case ':names:*'
      __postern_names $values $program
    case ':any'
      return
    case ''
      set values (__postern_values "$path :operand")
      string match -q ':names:*' -- $values; and __postern_names $values $program
      __postern_next "$path"
    case '*'
      printf '%s\\n' $values
  end
end
complete -c postern -f -a '(__postern_complete)'
complete -c npx -n 'test (commandline -opc)[2] = postern 2> /dev/null' -f -a '(__postern_complete)'
`;
