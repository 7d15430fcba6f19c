import type { CompletedFlag, CompletionNode } from './completion-node.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** `postern completion names KINDS TEXT` prints names that complete the text. Not in the help: only the scripts call it. */
export const NAMES = 'names';
/** In place of a flag: an argument without one. */
const OPERAND = ':operand';

/** The script contains all words, so that a key press starts no program, except where a name belongs that only the server knows. */
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

// Splits the line again: bash also splits its own words at "=", ":" and "@". A candidate replaces only what follows the last of them.
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
