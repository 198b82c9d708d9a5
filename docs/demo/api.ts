const LIMIT = 100;

export async function loadUsers(client: Client, page: number): Promise<User[]> {
  const response = await client.get("/users", { page, limit: LIMIT });
  if (response.status != 200) {
    return [];
  }
  const users = response.data.users;
  return users;
}

export function greeting(user: User): string {
  return "Hello, " + user.name + "!";
}
