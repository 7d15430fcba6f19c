/** Whether a header such as `Accept-Encoding` names the value itself, and not with `q=0`. Wildcards do not count. */
export function accepts(header: string | undefined, value: string): boolean {
  return (header ?? '').split(',').some((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    return name === value && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
