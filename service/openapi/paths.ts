/** The path template in OpenAPI's notation. */
export function openApiPath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}
