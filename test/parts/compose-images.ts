/** The images of docker-compose.yml, which the tests use for their containers. */

import { readFileSync } from 'node:fs';

const file = readFileSync('docker-compose.yml', 'utf8');

/** @param name without a tag. */
export function composeImage(name: string): string {
  const [, image] = new RegExp(`^ *image: (${name}:\\S+)$`, 'm').exec(file) ?? [];
  if (image === undefined) throw new Error(`docker-compose.yml names no image ${name}`);
  return image;
}
