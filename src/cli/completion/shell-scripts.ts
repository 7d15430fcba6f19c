import type { CompletionNode } from './completion-node.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The script contains all words, so that a key press starts no program. */
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

/** `:file` asks for file names, `:any` for an arbitrary value. */
function valueRows(nodes: readonly CompletionNode[]): { path: string; flag: string; value: string }[] {
  return nodes.flatMap(({ path, flags }) =>
    flags
      .filter(({ takesValue, isFile }) => takesValue || isFile === true)
      .map(({ name, choices, isFile }) => ({
        path,
        flag: name,
        value: choices?.join(' ') ?? (isFile === true ? ':file' : ':any'),
      })),
  );
}

// Splits the line again: bash also splits its own words at "=" and "@".
const BASH = `_postern() {
  local line="\${COMP_LINE:0:COMP_POINT}" path="" values word index last cur prev
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  last=$((\${#words[@]} - 1))
  cur="\${words[last]}" prev="\${words[last - 1]}"
  for ((index = 1; index < last; index++)); do
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
  elif [[ $values == :any ]]; then
    COMPREPLY=()
  elif [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$(_postern_next "$path")" -- "$cur"))
  fi
}
complete -F _postern postern
`;

const ZSH = `_postern() {
  local postern_path="" values word index
  for ((index = 2; index < CURRENT; index++)); do
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
  elif [[ $values == :any ]]; then
    return 0
  elif [[ -n $values ]]; then
    compadd -- \${=values}
  else
    compadd -- \${=$(_postern_next "$postern_path")}
  fi
}
if [[ $funcstack[1] == _postern ]]; then _postern "$@"; else compdef _postern postern; fi
`;

const FISH = `function __postern_complete
  set -l before (commandline -opc)
  set -l path ""
  for word in $before[2..-1]
    string match -q -- '-*' $word; and break
    test -n "$(__postern_next (string trim "$path $word"))"; or break
    set path (string trim "$path $word")
  end
  set -l values (__postern_values "$path $before[-1]")
  switch "$values"
    case ':file'
      __fish_complete_path (commandline -ct)
    case ':any'
      return
    case ''
      __postern_next "$path"
    case '*'
      printf '%s\\n' $values
  end
end
complete -c postern -f -a '(__postern_complete)'
`;
