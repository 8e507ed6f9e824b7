"""`python -m kafka_s3.cli`, for where the command is not on the PATH."""

from kafka_s3.cli import main

if __name__ == "__main__":
    main(prog_name="kafka-s3")
