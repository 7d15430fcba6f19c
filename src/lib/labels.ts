const MAX_LENGTH = 255;

/** What is wrong with a map of labels, or null. They are written `name=value` on command lines, so a name has no "=". */
export function labelsProblem(labels: Readonly<Record<string, string>>): string | null {
  for (const [name, value] of Object.entries(labels)) {
    if (name === '' || name.length > MAX_LENGTH || /[=\p{Cc}]/u.test(name)) {
      return `has a label whose name is empty, longer than ${MAX_LENGTH} characters, or contains "=" or control characters`;
    }
    if (value === '' || value.length > MAX_LENGTH || /\p{Cc}/u.test(value)) {
      return `has a label whose value is empty, longer than ${MAX_LENGTH} characters, or contains control characters`;
    }
  }
  return null;
}
